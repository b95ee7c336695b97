// Outside of this repository: '@tenantry/guard/cdk', which is built from this file.
import { Tenantry, TenantryAuthorizer } from '#infra/consumer.ts'
import { Stack, type StackProps } from 'aws-cdk-lib'
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Rule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets'
import { type Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'

/** The stack of another team: one API, whose function asks for decisions, opens credentials of vendors and gets events. */
export class OrdersStack extends Stack {
  constructor(scope: Construct, id: string, { stage, code, ...props }: StackProps & { stage: string; code: Code }) {
    super(scope, id, props)
    const tenantry = Tenantry.fromStage(this, stage)
    const orders = new LambdaFunction(this, 'Orders', { runtime: Runtime.NODEJS_24_X, handler: 'index.handler', code })
    tenantry.grantAuthorize(orders)
    tenantry.grantOpenCredential(orders, 'orders')

    const restApi = new RestApi(this, 'Api')
    const authorizer = new TenantryAuthorizer(this, 'Authorizer', { tenantry, restApi })
    const path = restApi.root.addResource('orders')
    for (const method of ['GET', 'POST', 'DELETE'])
      path.addMethod(method, new LambdaIntegration(orders), { authorizer })

    const closed = new Rule(this, 'Closed', { eventBus: tenantry.eventBus })
    closed.addEventPattern({ source: ['tenantry'], detailType: ['tenant.status_changed'] })
    closed.addTarget(new LambdaTarget(orders))
  }
}
