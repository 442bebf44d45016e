// The entries of the rail, and who sees them.

import type { IconName } from '../../build/icons.ts'
import type { RouteName } from '../address/routes.ts'
import { may } from '../data/access.ts'
import { fleetStats } from '../live/fleet-index.ts'
import { words } from '../words/words.ts'

const t = words({
  explore: ['Telemetry', 'Telemetrie'],
  inError: [
    '{n} device is in error | {n} devices are in error',
    '{n} Gerät meldet einen Fehler | {n} Geräte melden einen Fehler',
  ],
  openAlerts: ['{n} alert is open | {n} alerts are open', '{n} Alarm ist offen | {n} Alarme sind offen'],
})

export interface Area {
  readonly route: RouteName
  readonly name: string
  readonly icon: IconName
  /** After `g`. */
  readonly key: string
  /** The first part of the paths that belong to it. */
  readonly prefix: string
  /** One of the entries at the foot of a narrow screen. */
  readonly isFirst: boolean
  /** What in it wants a person, and the same in words. Undefined if nothing does. */
  readonly count?: Count | undefined
}

interface Count {
  readonly n: number
  readonly label: string
}

/** Areas that the role at the page has nothing to do with are absent (D7). */
export function areas(): readonly Area[] {
  const stats = fleetStats.value
  const { info = 0, warning = 0, critical = 0 } = stats?.alerts ?? {}
  const all: readonly (Area & { readonly isShown?: boolean })[] = [
    {
      route: 'overview',
      name: t('overview'),
      icon: 'layout-dashboard',
      key: 'o',
      prefix: '/',
      isFirst: true,
    },
    {
      route: 'devices',
      name: t('devices'),
      icon: 'cpu',
      key: 'd',
      prefix: '/devices',
      isFirst: true,
      count: counted('inError', stats?.by_status.error ?? 0),
    },
    {
      route: 'alerts',
      name: t('alerts'),
      icon: 'bell',
      key: 'a',
      prefix: '/alerts',
      isFirst: true,
      count: counted('openAlerts', info + warning + critical),
    },
    {
      route: 'commands',
      name: t('commands'),
      icon: 'send',
      key: 'c',
      prefix: '/commands',
      isFirst: true,
      isShown: may('sendCommand'),
    },
    { route: 'rollouts', name: t('rollouts'), icon: 'rocket', key: 'r', prefix: '/rollouts', isFirst: false },
    {
      route: 'explore',
      name: t('explore'),
      icon: 'activity',
      key: 't',
      prefix: '/telemetry',
      isFirst: false,
    },
    {
      route: 'timeline',
      name: t('timeline'),
      icon: 'history',
      key: 'e',
      prefix: '/timeline',
      isFirst: false,
    },
    { route: 'logs', name: t('logs'), icon: 'file-text', key: 'l', prefix: '/logs', isFirst: false },
    { route: 'system', name: t('system'), icon: 'server', key: 's', prefix: '/system', isFirst: false },
  ]
  return all.filter(({ isShown = true }) => isShown)
}

const counted = (word: 'inError' | 'openAlerts', n: number): Count | undefined =>
  n === 0 ? undefined : { n, label: t(word, { n }) }
