// The states of a view that shows the index of the fleet: it is read, it cannot be read, it is too large for a page, and there
// is no device yet.
import type { ComponentChildren } from 'preact'
import { pathOf } from '../address/routes.ts'
import { may } from '../data/access.ts'
import { columns, fleetState, fleetVersion } from '../live/fleet-index.ts'
import { words } from '../words/words.ts'
import { Skeleton } from './answer-area.tsx'
import { Empty } from './empty.tsx'

const t = words({
  empty: ['No devices yet', 'Es gibt noch kein Gerät'],
  emptyHint: [
    'Register the first one: you get its token and a sample program, and watch it connect here.',
    'Melden Sie das erste an: Sie bekommen sein Token und ein Programm dafür und sehen hier, wie es sich verbindet.',
  ],
  askAdmin: ['An admin of this service registers devices.', 'Geräte meldet ein Admin dieses Dienstes an.'],
  connect: ['Connect a device', 'Gerät verbinden'],
  failed: ['The devices could not be read ({status})', 'Die Geräte konnten nicht gelesen werden ({status})'],
  failedHint: ['Retrying every few seconds.', 'Es wird alle paar Sekunden neu versucht.'],
})

export interface FleetAreaProps {
  readonly children: ComponentChildren
  /** Stands in place of it where there are more devices than the page keeps. */
  readonly summary: (total: number) => ComponentChildren
}

export function FleetArea({ children, summary }: FleetAreaProps) {
  const at = fleetState.value
  const isEmpty = fleetVersion.value === 0 || columns.size === 0
  if (at.state === 'loading') return <Skeleton rows={12} />
  if (at.state === 'failed')
    return <Empty title={t('failed', { status: at.status })} hint={t('failedHint')} />
  if (at.state === 'truncated') return <>{summary(at.total)}</>
  if (!isEmpty) return <>{children}</>
  return (
    <Empty title={t('empty')}>
      <p>{may('registerDevice') ? t('emptyHint') : t('askAdmin')}</p>
      {may('registerDevice') && (
        <a class="button button-primary" href={pathOf('connect')}>
          {t('connect')}
        </a>
      )}
    </Empty>
  )
}
