import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import * as v from 'valibot'
import { mapName, SOURCE_MAPS } from '#infra/aws/bundling.ts'

const USAGE = `Shows the places in the sources for those in a log of a function.

  node infra/tools/map-stack.ts FUNCTION [--assembly FOLDER] < LOG

FUNCTION is its name in AWS, such as tenantry-prod-auth. FOLDER is the assembly that was deployed, by default cdk.out. npm run synth
writes it again at the commit of the release.`

const Template = v.object({
  Resources: v.record(v.string(), v.object({ Type: v.string(), Properties: v.optional(v.unknown()) })),
})

const NamedFunction = v.object({ FunctionName: v.string(), Code: v.object({ S3Key: v.string() }) })

// A function's code is in /var/task. https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
const PLACE = /(?:file:\/\/)?\/var\/task\/([\w-]+\.js):(\d+):(\d+)/g

/** Returns the folder of a function's code. Throws when the assembly has no such function. */
function codeOf(assembly: string, name: string): string {
  const stage = name.split('-')[1] ?? ''
  const template = readFileSync(join(assembly, `tenantry-${stage}.template.json`), 'utf8')
  for (const { Type, Properties } of Object.values(v.parse(Template, JSON.parse(template)).Resources)) {
    if (Type !== 'AWS::Lambda::Function' || !v.is(NamedFunction, Properties)) continue
    if (Properties.FunctionName === name) return join(assembly, `asset.${Properties.Code.S3Key.replace(/\.zip$/, '')}`)
  }
  throw new Error(`the assembly ${assembly} has no function ${name}`)
}

const { values, positionals } = parseArgs({
  options: { assembly: { type: 'string', default: 'cdk.out' }, help: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [name] = positionals
if (name === undefined || values.help) {
  console.log(USAGE)
  process.exit(values.help ? 0 : 1)
}
const code = codeOf(values.assembly, name)
const maps = new Map<string, SourceMap>()
const mapOf = (file: string): SourceMap => {
  const known = maps.get(file)
  if (known !== undefined) return known
  const path = join(values.assembly, SOURCE_MAPS, mapName(readFileSync(join(code, file), 'utf8')))
  const map = new SourceMap(JSON.parse(readFileSync(path, 'utf8')))
  maps.set(file, map)
  return map
}
const mapped = (await text(process.stdin)).replaceAll(PLACE, (place, file: string, line: string, column: string) => {
  const origin = mapOf(file).findOrigin(Number(line), Number(column))
  // `resolve` removes what the map adds to the path of a source.
  return 'fileName' in origin
    ? `${resolve('/', origin.fileName).slice(1)}:${origin.lineNumber}:${origin.columnNumber}`
    : place
})
process.stdout.write(mapped)
