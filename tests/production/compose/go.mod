module compose

go 1.24

require github.com/docker/compose/v2 v2.40.3
