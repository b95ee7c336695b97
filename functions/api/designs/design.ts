import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'
import { Id } from '#shared/schema/id.ts'
import { text } from '#shared/schema/text.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'

const MAX_SIZE_BYTES = 2 ** 40

export const DesignName = text({ max: 120, example: 'Team shirt, front' })

// A path, or a name of a folder, in the NFKC form too.
const NO_FILE_NAME = /[/\\\u2044\u2215]|^\.{1,2}$/u

/** The name of a file, without a folder: a program that saves the file under this name writes to no other folder. */
const FileName = v.pipe(
  text({ max: 255, example: 'front.svg' }),
  v.check((name) => !NO_FILE_NAME.test(name.normalize('NFKC')), fault({ code: 'not-a-file-name' })),
)

/** The description of a file. The file itself is stored elsewhere. */
export const NewAsset = v.object({
  file_name: FileName,
  media_type: v.pipe(
    v.string(),
    v.regex(
      /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/,
      fault({ code: 'wrong-format', format: 'type/subtype' }),
    ),
    v.examples(['image/svg+xml']),
  ),
  size_bytes: v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(MAX_SIZE_BYTES), v.examples([48_213])),
  sha256: v.pipe(
    v.string(),
    v.regex(/^[0-9a-f]{64}$/, fault({ code: 'wrong-format', format: '64 lowercase hexadecimal digits' })),
    v.examples(['e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855']),
  ),
})

export type NewAsset = Readonly<v.InferOutput<typeof NewAsset>>

export const Asset = v.pipe(
  v.object({ id: Id, ...NewAsset.entries, is_primary: v.boolean(), created_at: Timestamp }),
  v.title('DesignAsset'),
)

export type Asset = Readonly<v.InferOutput<typeof Asset>>

const fields = {
  id: Id,
  name: DesignName,
  approved_at: v.nullable(Timestamp),
  approved_by: v.nullable(Id),
  created_by: v.nullable(Id),
  created_by_key: v.nullable(Id),
  created_at: Timestamp,
}

/** A design with its assets, oldest first. Exactly one of them is primary, if there are any. */
export const Design = v.pipe(v.object({ ...fields, assets: v.array(Asset) }), v.title('Design'))

export type Design = Readonly<Omit<v.InferOutput<typeof Design>, 'assets'>> & { readonly assets: readonly Asset[] }

const marked = (asset: Asset, primaryId: string | undefined): Asset => ({
  ...asset,
  is_primary: asset.id === primaryId,
})

/** Returns the assets with this one as their primary asset. */
export const withPrimary = (assets: readonly Asset[], primaryId: string | undefined): Asset[] =>
  assets.map((asset) => marked(asset, primaryId))

/** A design in a list, with its primary asset. */
export const ListedDesign = v.pipe(v.object({ ...fields, primary_asset: v.nullable(Asset) }), v.title('ListedDesign'))

export type ListedDesign = Readonly<v.InferOutput<typeof ListedDesign>>
