import { routeGroup } from '#shared/http/group.ts'
import { readDocument } from './read-document.ts'

export const group = routeGroup({ name: 'openapi', bodyLimitBytes: 1024, endpoints: [readDocument] })
