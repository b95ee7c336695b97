import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { NAMED_QUERIES } from '#functions/workers/operate/named-queries.ts'
import { type AlarmEntry, alarmEntries, SEVERITIES } from '#infra/aws/alarm-table.ts'
import { writeGenerated } from './generated.ts'

const FOLDER = fileURLToPath(new URL('../runbook/', import.meta.url))

interface Row {
  readonly name: string
  readonly entry: AlarmEntry
}

/** What is told without an alarm of CloudWatch: by AWS Budgets, and by a rule of EventBridge. */
export const OTHER_MESSAGES: readonly Row[] = [
  {
    name: 'vault-key-changed',
    entry: {
      page: 'safety',
      severity: 'wake',
      felt: 'Vendor accounts cannot be connected or used, or will not be in days.',
      first:
        'aws cloudtrail lookup-events --lookup-attributes AttributeKey=EventSource,AttributeValue=kms.amazonaws.com',
    },
  },
  {
    name: 'budget',
    entry: {
      page: 'jobs',
      severity: 'morning',
      felt: 'Nothing. The month costs more than planned.',
      first: 'Cost Explorer by service',
    },
  },
]

const alarmRow = ({ name, entry: { page, severity, felt, first, stopsReleases } }: Row): string =>
  `| [${name}](${page}.md#${name}) | ${SEVERITIES[severity]} | ${felt} | \`${first}\` | ${stopsReleases === true ? 'yes' : ''} |`

/** The tables of the runbook: the page of each, the name of its markers, and its lines. */
const TABLES: readonly { page: string; marker: string; lines: readonly string[] }[] = [
  {
    page: 'README.md',
    marker: 'alarms',
    lines: [
      '| Alarm | Who | People feel | Run first | Stops a release |',
      '|---|---|---|---|---|',
      ...[...alarmEntries(), ...OTHER_MESSAGES].map(alarmRow),
    ],
  },
  {
    page: 'looking.md',
    marker: 'queries',
    lines: [
      '| Name | Shows |',
      '|---|---|',
      ...Object.entries(NAMED_QUERIES).map(([name, { shows }]) => `| \`${name}\` | ${shows} |`),
    ],
  },
]

/** Returns the pages whose tables are generated: the text of each as it is, and as it must be. Throws when its markers are missing. */
export const runbookPages = () =>
  Promise.all(
    TABLES.map(async ({ page, marker, lines }) => {
      const file = FOLDER + page
      const text = await readFile(file, 'utf8')
      const between = new RegExp(`(?<=<!-- ${marker}:begin -->\n).*(?=<!-- ${marker}:end -->)`, 's')
      if (!between.test(text)) throw new Error(`${file} has no markers ${marker}`)
      return { file, text, generated: text.replace(between, `\n${lines.join('\n')}\n\n`) }
    }),
  )

if (import.meta.main)
  for (const { file, generated } of await runbookPages()) await writeGenerated(file, generated, 'npm run runbook')
