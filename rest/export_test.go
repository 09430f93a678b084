package rest

import "github.com/gin-gonic/gin"

// Routes lists every route, for the tests that hold for all of them.
func (s *Server) Routes() gin.RoutesInfo { return s.engine.Routes() }
