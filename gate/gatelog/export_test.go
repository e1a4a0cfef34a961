package gatelog

// Gates is how many gates the Logger keeps counts of.
func (l *Logger) Gates() int { return len(*l.gates.Load()) }
