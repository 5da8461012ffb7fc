"""The generalised problem: the truth by enumeration, peers on real blocks, discriminants, slow modes."""
