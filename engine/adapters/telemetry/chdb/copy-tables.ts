// Copies the tables of a running chdb by copying its files.
//
// - A part of a table never changes once it is complete and has its name. A part that was merged into another one stays for
//   minutes. So a copy of all parts in a listing holds every row that was there at the time of the listing.
// T2. A listed part may be gone when its turn comes. Then its rows are in another part, and the table is listed again.
// - A copy may hold a part and also the one that it was merged into. ClickHouse notices this at its next start, as it does
//   after a crash.
// - `settlements` is copied first: the rollups, which are copied later, then have everything that it says is rolled up.
import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'

/** Created at every start: the lock, spooled rows, and links to the tables by name. */
const SKIPPED = new Set(['status', 'tmp', 'data'])
const FIRST = 'settlements'
/** ClickHouse names a part by its partition, its blocks and its level. */
const PART = /^\S+_\d+_\d+_\d+(?:_\d+)?$/

export function copyTables(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(from)) {
    if (SKIPPED.has(name) || name === 'store') continue
    copyTree(join(from, name), join(to, name))
  }
  const first = idOf(from, FIRST)
  const folders = readdirSync(join(from, 'store')).flatMap((short) =>
    readdirSync(join(from, 'store', short)).map((id) => ({ id, path: join('store', short, id) })),
  )
  for (const { path } of folders.sort((a, b) => Number(b.id === first) - Number(a.id === first)))
    copyTable(join(from, path), join(to, path))
}

/** The id of a table, which its folder is named after. */
function idOf(from: string, table: string): string | undefined {
  const sql = readFileSync(join(from, 'metadata', 'default', `${table}.sql`), 'utf8')
  return /UUID '([0-9a-f-]{36})'/.exec(sql)?.[1]
}

function copyTable(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 })
  const copied = new Set<string>()
  for (let isWhole = false; !isWhole; ) {
    isWhole = true
    for (const entry of readdirSync(from, { withFileTypes: true })) {
      const { name } = entry
      if (copied.has(name) || (entry.isDirectory() && !PART.test(name))) continue
      const target = join(to, name)
      try {
        copyTree(join(from, name), target)
        copied.add(name)
      } catch (error) {
        if (!isGone(error)) throw error
        // by T2
        rmSync(target, { recursive: true, force: true })
        isWhole = false
      }
    }
  }
}

function copyTree(from: string, to: string): void {
  const about = lstatSync(from)
  // ClickHouse's links are relative.
  if (about.isSymbolicLink()) symlinkSync(readlinkSync(from), to)
  else if (about.isDirectory()) {
    mkdirSync(to, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(from)) copyTree(join(from, name), join(to, name))
  } else copyFileSync(from, to)
}

const isGone = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOENT'
