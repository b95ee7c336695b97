import * as v from 'valibot'
import { npm } from './npm.ts'

const Advisory = v.object({ title: v.string(), url: v.string() })

const Report = v.union([
  v.object({
    vulnerabilities: v.record(
      v.string(),
      v.object({
        severity: v.picklist(['info', 'low', 'moderate', 'high', 'critical']),
        // A name stands for the advisories of another dependency.
        via: v.array(v.union([v.string(), Advisory])),
      }),
    ),
  }),
  v.object({ message: v.string(), statusCode: v.optional(v.number()) }),
])

const SERIOUS = new Set(['high', 'critical'])
// A registry without this service: a mirror, or one that only serves packages.
const NOT_SERVED = [404, 405, 501]

const report = v.parse(Report, JSON.parse(await npm('audit', '--omit=dev', '--omit=optional')))
if ('vulnerabilities' in report) {
  const found = Object.entries(report.vulnerabilities)
  for (const [name, { severity, via }] of found) {
    const advisories = via.map((each) => (typeof each === 'string' ? `by ${each}` : `${each.title} ${each.url}`))
    console.log(`${severity} ${name}: ${advisories.join('; ')}`)
  }
  const serious = found.filter(([, { severity }]) => SERIOUS.has(severity))
  console.log(`Production dependencies with advisories: ${found.length}, high or critical: ${serious.length}.`)
  process.exitCode = serious.length === 0 ? 0 : 1
} else if (NOT_SERVED.includes(report.statusCode ?? 0)) {
  console.log(`NOT AUDITED: the registry does not serve advisories (${report.message})`)
} else {
  console.error(`Could not audit: ${report.message}`)
  process.exitCode = 2
}
