"""How well the numbers of components and of their variables are found: planted, noise, fresh designs, speed."""
