//go:build needed

package needed

import _ "github.com/docker/compose/v2/cmd"
