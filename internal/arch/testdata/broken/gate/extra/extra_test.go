package extra

import "time"

func helper() { time.Sleep(time.Minute) } // no bubble in this file
