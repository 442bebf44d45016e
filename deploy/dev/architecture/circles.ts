// Circles of imports. In each folder the entries (files, and folders with all they hold) import each other in one
// direction only. Files cannot form a circle then either: in the folder that holds all of it, it would be one of entries.
// Imports of types count, too.
import type { Source } from './sources.ts'

/** Import → importing and imported file. */
type Arrows = Map<string, Map<string, string>>

/** One line per import that is part of a circle. */
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
