"""Print every speed table."""

from benchmarks.speed.iterations import show_iterations
from benchmarks.speed.startup import show_startup
from benchmarks.timing import machine

if __name__ == "__main__":
    print(machine(), "\n")
    show_startup()
    show_iterations()
