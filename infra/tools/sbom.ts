import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as v from 'valibot'
import { npm } from './npm.ts'

// A development dependency, or a package of this repository.
const NOT_A_DEPENDENCY = new Set(['cdx:npm:package:development', 'cdx:npm:package:private'])

const Component = v.looseObject({
  'bom-ref': v.string(),
  scope: v.string(),
  properties: v.array(v.object({ name: v.string(), value: v.string() })),
})

const Bom = v.looseObject({
  metadata: v.looseObject({ component: Component }),
  components: v.array(Component),
  dependencies: v.array(v.object({ ref: v.string(), dependsOn: v.array(v.string()) })),
})

// `npm sbom --omit dev` also omits a production dependency that a development dependency asks for, such as valibot.
const isProduction = ({ scope, properties }: v.InferOutput<typeof Component>): boolean =>
  scope === 'required' && properties.every(({ name }) => !NOT_A_DEPENDENCY.has(name))

const [file = 'cdk.out/sbom.cdx.json'] = process.argv.slice(2)
const bom = v.parse(Bom, JSON.parse(await npm('sbom', '--sbom-format=cyclonedx')))
const components = bom.components.filter(isProduction)
const refs = new Set([bom.metadata.component, ...components].map((component) => component['bom-ref']))
const dependencies = bom.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }))
await mkdir(dirname(file), { recursive: true })
await writeFile(file, `${JSON.stringify({ ...bom, components, dependencies }, null, 2)}\n`)
console.log(`${file} lists ${components.length} production dependencies`)
