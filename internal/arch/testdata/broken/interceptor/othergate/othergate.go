package othergate // has no row in the table
