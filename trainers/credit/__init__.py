"""Credit: pure functions from the table of turns to one advantage per turn. One method a module."""
