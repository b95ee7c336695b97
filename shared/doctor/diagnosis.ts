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

const diagnose =
  (severity: Diagnosis['severity']) =>
  (check: string, object: string, what: string, repair: string): Diagnosis => {
    return { severity, check, object, fault: what, repair }
  }
export const fault = diagnose('fault')
export const warning = diagnose('warning')
export const unseen = diagnose('unseen')
