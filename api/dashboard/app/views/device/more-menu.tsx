// What is seldom done to a device, behind one button.
import type { DeviceBody } from '../../../../../schemas/device.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { Button } from '../../parts/button.tsx'
import { copyLink } from '../../parts/clipboard.ts'
import { Menu } from '../../parts/menu.tsx'
import { words } from '../../words/words.ts'

const t = words({
  mute: ['Mute alerts', 'Alarme stumm schalten'],
  audit: ['Audit log', 'Was mit ihm getan wurde'],
  end: ['Decommission…', 'Ausmustern…'],
})

export function MoreMenu({ device }: { readonly device: DeviceBody }) {
  const { device_id } = device
  const isThere = device.status !== 'decommissioned'
  const links = [
    { name: t('mute'), href: tab(device_id, 'alerts'), isShown: isThere && may('createSilence') },
    {
      name: t('audit'),
      href: pathOf('systemTab', { tab: 'audit' }, { device: device_id }),
      isShown: may('listAudit'),
    },
    { name: t('end'), href: tab(device_id, 'settings'), isShown: isThere && may('decommissionDevice') },
  ]
  return (
    <Menu name={t('more')}>
      {links
        .filter(({ isShown }) => isShown)
        .map(({ name, href }) => (
          <li key={name}>
            <a class="button button-quiet" href={href}>
              {name}
            </a>
          </li>
        ))}
      <li>
        <Button kind="quiet" onClick={() => void copyLink(location.href)}>
          {t('copyLink')}
        </Button>
      </li>
    </Menu>
  )
}

const tab = (device_id: string, name: string) => pathOf('deviceTab', { device_id, tab: name })
