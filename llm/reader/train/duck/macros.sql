CREATE MACRO now_date() AS DATE '2025-06-15';
CREATE MACRO p_start(p) AS CASE
 WHEN regexp_full_match(p, '\d{4}') THEN make_date(p::INT,1,1)
 WHEN regexp_full_match(p, '\d{4}-\d{2}') THEN make_date(left(p,4)::INT, right(p,2)::INT, 1)
 WHEN regexp_full_match(p, '\d{4}-Q[1-4]') THEN make_date(left(p,4)::INT, right(p,1)::INT*3-2, 1)
 WHEN regexp_full_match(p, '\d{4}-\d{2}-\d{2}') THEN p::DATE
 WHEN regexp_full_match(p, '\d{3}0s') THEN make_date(left(p,4)::INT,1,1)
 WHEN p='today' THEN now_date() WHEN p='yesterday' THEN now_date()-1
 WHEN p='this week' THEN date_trunc('week',now_date())::DATE WHEN p='last week' THEN (date_trunc('week',now_date())-INTERVAL 7 DAY)::DATE
 WHEN p='this month' THEN date_trunc('month',now_date())::DATE WHEN p='last month' THEN (date_trunc('month',now_date())-INTERVAL 1 MONTH)::DATE
 WHEN p='this quarter' THEN date_trunc('quarter',now_date())::DATE WHEN p='last quarter' THEN (date_trunc('quarter',now_date())-INTERVAL 3 MONTH)::DATE
 WHEN p='this year' THEN date_trunc('year',now_date())::DATE WHEN p='last year' THEN (date_trunc('year',now_date())-INTERVAL 1 YEAR)::DATE
 WHEN regexp_full_match(p,'last \d+ days') THEN now_date()+1-regexp_extract(p,'\d+')::INT
 WHEN regexp_full_match(p,'last \d+ weeks') THEN now_date()+1-7*regexp_extract(p,'\d+')::INT
 WHEN regexp_full_match(p,'last \d+ months') THEN (now_date()+1-to_months(regexp_extract(p,'\d+')::INT))::DATE
 WHEN regexp_full_match(p,'last \d+ years') THEN (now_date()+1-to_years(regexp_extract(p,'\d+')::INT))::DATE
 WHEN regexp_full_match(p,'next \d+ days') THEN now_date()
 ELSE error('unknown period ' || p) END;
CREATE MACRO p_end(p) AS CASE
 WHEN regexp_full_match(p, '\d{4}') THEN make_date(p::INT+1,1,1)
 WHEN regexp_full_match(p, '\d{4}-\d{2}') THEN (p_start(p)+INTERVAL 1 MONTH)::DATE
 WHEN regexp_full_match(p, '\d{4}-Q[1-4]') THEN (p_start(p)+INTERVAL 3 MONTH)::DATE
 WHEN regexp_full_match(p, '\d{4}-\d{2}-\d{2}') THEN p::DATE+1
 WHEN regexp_full_match(p, '\d{3}0s') THEN make_date(left(p,4)::INT+10,1,1)
 WHEN p IN ('this week','last week') THEN (p_start(p)+INTERVAL 7 DAY)::DATE
 WHEN p IN ('this month','last month') THEN (p_start(p)+INTERVAL 1 MONTH)::DATE
 WHEN p IN ('this quarter','last quarter') THEN (p_start(p)+INTERVAL 3 MONTH)::DATE
 WHEN p IN ('this year','last year') THEN (p_start(p)+INTERVAL 1 YEAR)::DATE
 WHEN p='yesterday' THEN now_date()
 WHEN p LIKE 'next %' THEN now_date()+regexp_extract(p,'\d+')::INT
 ELSE now_date()+1 END;
CREATE MACRO during(c,p) AS c >= p_start(p) AND c < p_end(p);
CREATE MACRO before(c,p) AS c < p_start(p);
CREATE MACRO after(c,p) AS c >= p_end(p);
CREATE MACRO since(c,p) AS c >= p_start(p);
CREATE MACRO until(c,p) AS c < p_end(p);
