"""How well the number of components and of their variables is found: planted truth, pure noise, fresh designs, speed."""
