/**
 * One finding about one object of a database. A `fault` breaks a guarantee. A `warning` will become a fault. `unseen` is a
 * check that the login may not run. A repair that ends in a semicolon is SQL.
 */
export interface Diagnosis {
  readonly severity: 'fault' | 'warning' | 'unseen'
  readonly check: string
  readonly object: string
  readonly fault: string
  readonly repair: string
}
