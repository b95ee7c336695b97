import { routeGroup } from '#shared/http/group.ts'
import { createTag } from './create-tag.ts'
import { deleteTag } from './delete-tag.ts'
import { listTags } from './list-tags.ts'

export const group = routeGroup({
  name: 'tags',
  bodyLimitBytes: 4 * 1024,
  endpoints: [listTags, createTag, deleteTag],
})
