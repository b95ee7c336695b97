import { routeGroup } from '#shared/http/group.ts'
import { addAsset } from './add-asset.ts'
import { approveDesign } from './approve-design.ts'
import { choosePrimaryAsset } from './choose-primary-asset.ts'
import { createDesign } from './create-design.ts'
import { listDesigns } from './list-designs.ts'
import { readDesign } from './read-design.ts'
import { removeAsset } from './remove-asset.ts'

export const group = routeGroup({
  name: 'designs',
  bodyLimitBytes: 16 * 1024,
  endpoints: [listDesigns, createDesign, readDesign, addAsset, choosePrimaryAsset, removeAsset, approveDesign],
})
