import * as v from 'valibot'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { Id } from '#shared/schema/id.ts'
import type { Key, ListRow } from '#shared/schema/page.ts'
import { text } from '#shared/schema/text.ts'

export const TagName = text({ max: 40, example: 'rush' })

export const Tag = v.pipe(v.object({ id: Id, name: TagName }), v.title('Tag'))

export type Tag = Readonly<v.InferOutput<typeof Tag>>

/** Returns the tags by name, one more than `limit` if there are more. The tenant guard limits them to the tenant's own. */
export async function searchTags(
  sql: TenantTransaction,
  { after, limit }: { after: Key | null; limit: number },
): Promise<ListRow<Tag>[]> {
  const rows = await sql<Tag>`
    select id, name from app.tags
     where ${after?.[0] ?? null}::text is null
        or (name collate "C", id) > (${after?.[0] ?? null}::text, ${after?.[1] ?? null}::uuid)
     order by name collate "C", id
     limit ${limit + 1}`
  return rows.map((item) => ({ item, key: [item.name, item.id] }))
}

/** Returns the new tag, or null if the tenant already has one of this name. */
export async function insertTag(sql: TenantTransaction, name: string): Promise<Tag | null> {
  const [tag] = await sql<Tag>`
    insert into app.tags (tenant_id, name) values (app.current_tenant(), ${name})
        on conflict do nothing
    returning id, name`
  return tag ?? null
}

/** Deletes the tag. Returns its name, or null if the tenant has no such tag. */
export async function removeTag(sql: TenantTransaction, id: string): Promise<string | null> {
  const [tag] =
    await sql<Tag>`delete from app.tags where tenant_id = app.current_tenant() and id = ${id} returning name`
  return tag?.name ?? null
}
