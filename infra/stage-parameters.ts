/** What other services read of a stage, by the name of the SSM parameter behind /tenantry/STAGE/. */
type StageParameter = 'authorize-function-arn' | 'event-bus-name' | 'open-credential-function-arn' | 'problem-base-url'

/** Returns the name of an SSM parameter of a stage. */
export const stageParameter = (stage: string, name: StageParameter): string => `/tenantry/${stage}/${name}`
