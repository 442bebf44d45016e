// Finds circular imports. Within each folder, the entries (files, and subfolders with all their content) may import each
// other in one direction only. This also excludes circles of files, because such a circle is also one of entries in the
// folder that contains all of its files. Imports of types count as well.
import type { Source } from './sources.ts'

/** The importing and the imported file of each import. */
type Arrows = Map<string, Map<string, string>>

/** Returns one line for each import that is part of a circle. */
export function circles(sources: readonly Pick<Source, 'path' | 'imports'>[]): readonly string[] {
  return [...arrowsByFolder(sources).values()].flatMap((arrows) =>
    [...arrows].flatMap(([from, targets]) =>
      [...targets].filter(([to]) => reaches(arrows, to, from)).map(([, example]) => example),
    ),
  )
}

function arrowsByFolder(sources: readonly Pick<Source, 'path' | 'imports'>[]): ReadonlyMap<string, Arrows> {
  const folders = new Map<string, Arrows>()
  for (const { path, imports } of sources)
    for (const { target, isFile } of imports) {
      if (!isFile || target === path) continue
      const from = path.split('/')
      const to = target.split('/')
      const depth = from.findIndex((name, level) => name !== to[level])
      const folder = from.slice(0, depth).join('/')
      const arrows = getOrAdd(folders, folder, () => new Map<string, Map<string, string>>())
      const targets = getOrAdd(arrows, from[depth] ?? '', () => new Map<string, string>())
      targets.set(to[depth] ?? '', `${path} imports ${target}`)
    }
  return folders
}

function reaches(arrows: Arrows, from: string, to: string, seen = new Set<string>()): boolean {
  if (from === to) return true
  if (seen.has(from)) return false
  seen.add(from)
  return [...(arrows.get(from)?.keys() ?? [])].some((next) => reaches(arrows, next, to, seen))
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make()
  map.set(key, found)
  return found
}
