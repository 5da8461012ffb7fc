"""Sets of components: beside other packages' algorithms, gaps of the set bound, enumerated truth, adjusted variance."""
