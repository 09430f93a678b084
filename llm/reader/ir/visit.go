package ir

// VisitConds calls f with each list of conditions of a query and of the queries within it.
func (q *Query) VisitConds(f func([]Cond)) { visitor{func(*Expr) {}, f}.query(q) }

// visitor visits a query and the queries within it.
type visitor struct {
	expr  func(*Expr)
	conds func([]Cond)
}

func (v visitor) query(q *Query) {
	for i := range q.Items {
		v.each(&q.Items[i])
	}
	for i := range q.Group {
		v.each(&q.Group[i])
	}
	for i := range q.Order {
		v.each(&q.Order[i].By)
	}
	v.all(q.Where)
	v.all(q.Having)
	if q.Right != nil {
		v.query(q.Right)
	}
}

func (v visitor) each(e *Expr) {
	v.expr(e)
	v.all(e.Conds)
	v.all(e.Versus)
	if e.Sub != nil {
		v.query(e.Sub)
	}
	if e.Second != nil {
		v.each(e.Second)
	}
}

func (v visitor) all(conds []Cond) {
	if len(conds) > 0 {
		v.conds(conds)
	}
	for i := range conds {
		v.each(&conds[i].Left)
		if conds[i].Right != nil {
			v.each(conds[i].Right)
		}
		if conds[i].Sub != nil {
			v.query(conds[i].Sub)
		}
	}
}
