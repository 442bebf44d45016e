// Creates routes for tests from their YAML form.
import { readBridgeConfig } from '../config/bridge-config.ts'
import type { DownlinkRoute, UplinkRoute } from '../config/route.ts'

/** `entries` are the entries of `bridges` in the flow form of YAML. */
export function readEntries(...entries: readonly string[]) {
  const head = 'device_id: r1\nmqtt: { host: localhost, token: t }\nbridges:\n'
  return readBridgeConfig(head + entries.map((entry) => `  - { ${entry} }\n`).join(''), {})
}

export function uplinkRoute(entry: string): UplinkRoute {
  return first(entry, (config) => config.uplinks[0])
}

export function downlinkRoute(entry: string): DownlinkRoute {
  return first(entry, (config) => config.downlinks[0])
}

type ConfigResult = ReturnType<typeof readEntries>

function first<Route>(
  entry: string,
  pick: (config: (ConfigResult & { kind: 'read' })['config']) => Route | undefined,
): Route {
  const read = readEntries(entry)
  if (read.kind === 'refused') throw new Error(JSON.stringify(read.problems))
  const route = pick(read.config)
  if (route === undefined) throw new Error('no route')
  return route
}
