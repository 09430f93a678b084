package rest

import (
	"github.com/gin-gonic/gin"

	"parley/rest/page"
)

// servePage routes the web page, which is public: its files are the same for everybody.
func (s *Server) servePage() error {
	files, err := page.New(s.cfg.Page)
	if err != nil {
		return err
	}
	for _, path := range files.Paths() {
		s.engine.GET(path, gin.WrapH(files))
		s.engine.HEAD(path, gin.WrapH(files))
	}
	return nil
}
