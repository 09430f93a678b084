package params

var FindProblem = findProblem
