// What a person sees at start: where everything is, and what to try next.
import type { FirstAdmin } from './auth/first-admin.ts'

export interface BannerFacts {
  readonly version: string
  readonly profile: string
  readonly httpUrl: string
  readonly mqttUrl: string
  readonly dataDir: string
  readonly durability: string
  readonly registration: string
  readonly startedInMs: number
  readonly admin: FirstAdmin | undefined
  readonly simulated: number
}

export function bannerText(facts: BannerFacts): string {
  const { httpUrl, admin } = facts
  const lines: readonly (readonly [string, string] | undefined)[] = [
    ['API', `${httpUrl}/api/v1     docs ${httpUrl}/docs`],
    ['WebSocket', `${httpUrl.replace(/^http/, 'ws')}/ws`],
    ['MQTT', facts.mqttUrl],
    ['Metrics', `${httpUrl}/metrics     health ${httpUrl}/readyz?verbose`],
    admin === undefined ? undefined : ['Admin', `${admin.email}${passwordNote(admin)}`],
    ['Profile', `${facts.profile}, registration ${facts.registration}, durability ${facts.durability}`],
    ['Data', `${facts.dataDir} (delete it for a factory reset)`],
    facts.simulated === 0
      ? undefined
      : ['Simulator', `${facts.simulated} devices publishing about once a second`],
    ['Try', `curl ${httpUrl}/readyz?verbose`],
    facts.simulated === 0 ? ['', 'npm start -- --simulate 25     (stop this one first)'] : undefined,
  ]
  const rows = lines.filter((line) => line !== undefined).map(([key, value]) => `  ${key.padEnd(12)}${value}`)
  const title = `  fleet ${facts.version}`.padEnd(40)
  return ['', `${title}ready in ${(facts.startedInMs / 1000).toFixed(1)} s`, ...rows, '', ''].join('\n')
}

function passwordNote({ generatedPassword }: FirstAdmin): string {
  return generatedPassword === undefined ? '' : ` / ${generatedPassword}   (shown once)`
}
