package arch

// Rule is one thing that must hold. Check returns what it found broken, one sentence each.
type Rule struct {
	Name  string
	Check func(*House) []string
}

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{
		{"Walls", checkWalls},
		{"Demo", checkDemo},
		{"FileLength", checkFileLength},
		{"FuncLength", checkFuncLength},
		{"Sleep", checkSleep},
		{"Vars", checkVars},
		{"TopLevel", checkTopLevel},
	}
}
