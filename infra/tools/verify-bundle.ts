import { readFileSync } from 'node:fs'

// Both survive minification. The guard is what infra/patches adds: a write on a lost socket rejects instead of throwing.
const DRIVER = '"CONNECTION_CLOSED"'
const GUARD = /===null\)return [^;{}]*\.connection\("CONNECTION_CLOSED"[^;{}]*,!1;/

const [file = ''] = process.argv.slice(2)
const text = readFileSync(file, 'utf8')
if (text.includes(DRIVER) && !GUARD.test(text)) {
  console.error(`${file} has postgres.js without its patch. Run npx patch-package --patch-dir infra/patches`)
  process.exitCode = 1
}
