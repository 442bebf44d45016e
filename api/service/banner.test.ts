import { describe, expect, test } from 'vitest'
import { type BannerFacts, bannerText, readyLine } from './banner.ts'
import { readSettings } from './settings/settings.ts'

function facts(dashboard: BannerFacts['dashboard']): BannerFacts {
  const read = readSettings({}, { cores: 1 })
  if (read.kind === 'wrong') throw new Error(read.line)
  return {
    version: '1',
    profile: read.settings.profile,
    httpUrl: 'http://127.0.0.1:8000',
    mqttUrl: 'mqtt://127.0.0.1:1883',
    durability: 'power',
    registration: 'open',
    startedInMs: 1,
    admin: undefined,
    dashboard,
    simulated: 0,
  }
}
const URL = 'http://localhost:8000'

describe('the banner', () => {
  test('the dashboard comes first, with an address that logs in once', () => {
    const text = bannerText(facts({ url: URL, next: `${URL}/login#ticket=lgn_x` }))
    expect(text).toMatch(
      /ready in .*\n +Dashboard +http:\/\/localhost:8000\n +http:\/\/localhost:8000\/login#ticket=lgn_x {3}\(logs in once, within 15 minutes\)\n +API/,
    )
  })

  test('a service without users is set up first', () => {
    expect(bannerText(facts({ url: URL, next: `${URL}/setup` }))).toContain(
      `${URL}/setup   (the first account)`,
    )
  })

  test('a dashboard that is switched off is not named', () => {
    expect(bannerText(facts(undefined))).not.toContain('Dashboard')
  })

  test('the line for programs never has the ticket', () => {
    expect(readyLine(facts({ url: URL, next: `${URL}/login#ticket=lgn_x` }), 0)).not.toContain('lgn_')
  })
})
