import { fileURLToPath } from 'node:url'
import { App, Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import { controlTowerRules } from './aws/control-tower.ts'
import { commitOf } from './commit.ts'
import { addStacks } from './stacks.ts'

const app = new App()
const named: unknown = app.node.tryGetContext('release')
await addStacks(app, typeof named === 'string' ? named : commitOf(fileURLToPath(new URL('..', import.meta.url))))
Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app), controlTowerRules(app))
