/**
 * The commit of the release that this function belongs to, with `-changed` if the files of its build differed from it. `unknown`: it was
 * built without git. `local`: it runs from the sources.
 */
export const RELEASE = process.env['RELEASE'] ?? 'local'
