import { routeGroup } from '#shared/http/group.ts'
import { readDocument } from './read-document.ts'
import { readEventSchemas } from './read-event-schemas.ts'

export const group = routeGroup({ name: 'openapi', bodyLimitBytes: 1024, endpoints: [readDocument, readEventSchemas] })
