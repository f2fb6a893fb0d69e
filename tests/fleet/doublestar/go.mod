module doublestar_answers

go 1.21

require github.com/bmatcuk/doublestar/v4 v4.10.4
