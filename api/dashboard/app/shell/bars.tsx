// What the whole page has to say before its views: no connection, a newer page, a line that others can read.
import { signal } from '@preact/signals'
import { isOutdated } from '../data/build.ts'
import { Button } from '../parts/button.tsx'
import { ConnectionBar } from '../parts/freshness.tsx'
import { words } from '../words/words.ts'

const t = words({
  outdated: ['A new version is available', 'Es gibt eine neue Version'],
  reload: ['Reload', 'Neu laden'],
  open: [
    'This connection is not encrypted: others on the network can read everything you see and type here, including passwords. Use https.',
    'Diese Verbindung ist nicht verschlüsselt: Andere im Netz können mitlesen, was hier steht und getippt wird, auch Passwörter. Nehmen Sie https.',
  ],
  understood: ['Dismiss', 'Verstanden'],
})

/** Kept for as long as the browser's session lasts. */
const READ = 'fleet-open-line-read'
const isOpenLine = signal(!isSecureContext && !wasRead())

export function Bars() {
  return (
    <div class="bars">
      <ConnectionBar />
      {isOutdated.value && (
        <p class="bar" role="status">
          {t('outdated')} ·{' '}
          <Button kind="quiet" onClick={() => location.reload()}>
            {t('reload')}
          </Button>
        </p>
      )}
      {isOpenLine.value && (
        <p class="bar" role="status">
          {t('open')}{' '}
          <Button
            kind="quiet"
            onClick={() => {
              isOpenLine.value = false
              noteRead()
            }}
          >
            {t('understood')}
          </Button>
        </p>
      )}
    </div>
  )
}

function wasRead(): boolean {
  try {
    return sessionStorage.getItem(READ) !== null
  } catch {
    // Storage may be switched off: then it is said again.
    return false
  }
}

function noteRead(): void {
  try {
    sessionStorage.setItem(READ, '1')
  } catch {
    // As above.
  }
}
