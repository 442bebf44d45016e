// Reads compose files like compose, as far as ours need it: it merges overlays, `extends` and merge keys.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

export interface Service {
  readonly image?: string
  readonly build?: unknown
  readonly user?: string
  readonly init?: boolean
  readonly read_only?: boolean
  readonly restart?: string
  readonly privileged?: boolean
  readonly cap_add?: readonly string[]
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly env_file?: readonly string[]
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly networks?: Networks
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly stop_grace_period?: string
  readonly logging?: { readonly options: Readonly<Record<string, string>> }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly deploy?: { readonly resources?: { readonly limits?: Readonly<Record<string, string>> } }
}
type Networks = readonly string[] | Readonly<Record<string, unknown>>

export interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
  readonly volumes: Readonly<Record<string, unknown>>
}

export function readCompose(...names: readonly string[]): Compose {
  const whole = names.map(readFile).reduce<Tree>((below, above) => merge(below, above, []), {})
  // The tests check each field that they use.
  return { networks: {}, volumes: {}, ...whole } as unknown as Compose
}

export function networksOf({ networks = [] }: Service): readonly string[] {
  return Array.isArray(networks) ? networks : Object.keys(networks)
}

type Tree = { readonly [key: string]: unknown }

function readFile(name: string): Tree {
  const tree = asTree(
    parse(readFileSync(new URL(`../compose/${name}`, import.meta.url), 'utf8'), { merge: true }),
  )
  const services = Object.entries(asTree(tree['services'])).map(([service, given]) => {
    const { extends: base, ...own } = asTree(given)
    if (base === undefined) return [service, own] as const
    const { file, service: of } = asTree(base)
    return [
      service,
      merge(asTree(asTree(readFile(String(file))['services'])[String(of)]), own, [service]),
    ] as const
  })
  return { ...tree, services: Object.fromEntries(services) }
}

/** Merges mappings, joins lists and replaces single values. A command is replaced as a whole. */
function merge(below: Tree, above: Tree, path: readonly string[]): Tree {
  const merged: Record<string, unknown> = { ...below }
  for (const [key, value] of Object.entries(above))
    merged[key] = mergeValue(below[key], value, [...path, key])
  return merged
}

function mergeValue(below: unknown, above: unknown, path: readonly string[]): unknown {
  const key = path.at(-1)
  if (key === 'networks') return merge(toMap(below), toMap(above), path)
  if (key === 'volumes' && Array.isArray(below) && Array.isArray(above)) return mergeVolumes(below, above)
  if (Array.isArray(below) && Array.isArray(above))
    return key === 'command' || key === 'test' ? above : [...below, ...above]
  return isTree(below) && isTree(above) ? merge(below, above, path) : above
}

/** Keeps the last mount of each path in the container. */
function mergeVolumes(below: readonly string[], above: readonly string[]): readonly string[] {
  const target = (volume: string) => volume.split(':')[1] ?? ''
  return [...new Map([...below, ...above].map((volume) => [target(volume), volume])).values()]
}

function toMap(networks: unknown): Tree {
  return Array.isArray(networks)
    ? Object.fromEntries(networks.map((name) => [name, {}]))
    : asTree(networks ?? {})
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function asTree(value: unknown): Tree {
  if (!isTree(value)) throw new Error(`no mapping: ${JSON.stringify(value)}`)
  return value
}
