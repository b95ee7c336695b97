/** A line that the new group adds to a file, before the first line that begins with `before`; or a text that it replaces. */
type Edit =
  | { readonly file: string; readonly before: string; readonly line: string }
  | { readonly file: string; readonly replace: string; readonly by: string }

/** What a stranger edits by hand. Each file is a step of functions/README.md. */
export const EDITS: readonly Edit[] = [
  // The permissions. The migration gives them to roles.
  {
    file: 'shared/identity/permissions.ts',
    before: `  'vendor.manage': { keys`,
    line: `  'tag.read': { keys: true },\n  'tag.write': { keys: true },`,
  },
  {
    file: 'shared/identity/permissions.ts',
    before: `  'vendor.manage': { en`,
    line: `  'tag.read': { en: 'see tags', es: 'ver etiquetas' },\n  'tag.write': { en: 'change tags', es: 'cambiar etiquetas' },`,
  },
  // The audit actions. The migration has the row of each that is published.
  {
    file: 'shared/audit/actions.ts',
    before: `  'tenant.changed': { target`,
    line: `  'tag.created': { target: 'tag', event: [] },\n  'tag.deleted': { target: 'tag', event: [] },`,
  },
  {
    file: 'shared/audit/actions.ts',
    before: `  'tenant.changed': {\n    en`,
    line: `  'tag.created': {
    en: ['Tag added', ({ who, value }) => \`\${who} added the tag \${value('name')}.\`],
    es: ['Etiqueta añadida', ({ who, value }) => \`\${who} añadió la etiqueta \${value('name')}.\`],
  },
  'tag.deleted': {
    en: ['Tag deleted', ({ who, value }) => \`\${who} deleted the tag \${value('name')}.\`],
    es: ['Etiqueta eliminada', ({ who, value }) => \`\${who} eliminó la etiqueta \${value('name')}.\`],
  },`,
  },
  // The kind of job.
  {
    file: 'shared/queue/kinds.ts',
    before: `  'verify-vendor'`,
    line: `  'count-words': { payload: v.object({ tag_id: Id }), invokes: null },`,
  },
  // The page.
  {
    file: 'functions/web/http/pages.ts',
    before: `import { start }`,
    line: `import { createTag, deleteTag, listTags } from '#web/pages/tags.ts'`,
  },
  { file: 'functions/web/http/pages.ts', before: `  showSettings,`, line: `  listTags,\n  createTag,\n  deleteTag,` },
  {
    file: 'functions/web/texts/texts.ts',
    before: `import { vendors }`,
    line: `import { tags } from '#web/texts/tags.ts'`,
  },
  { file: 'functions/web/texts/texts.ts', before: `  vendors,`, line: `  tags,` },
  // The setting.
  {
    file: 'shared/base/config.ts',
    before: `  session: {`,
    line: `  tags: { tenantLimit: limit('TAG_TENANT_LIMIT', 600, 'new tags per tenant and hour') },`,
  },
  // The title of a problem.
  { file: 'shared/base/problem.ts', replace: `title: 'Existing role'`, by: `title: 'Code in use'` },
]
