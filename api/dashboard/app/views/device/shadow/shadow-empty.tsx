import { CopyField } from '../../../parts/copy-field.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { words } from '../../../words/words.ts'

const t = words({
  title: ['Nothing is desired or reported yet', 'Noch ist nichts gewünscht oder gemeldet'],
  how: [
    'Add a leaf below to say what the device should do. The device gets it on its topic, and says what it does on another one:',
    'Fügen Sie unten ein Blatt hinzu, um zu sagen, was das Gerät tun soll. Es bekommt das auf seinem Topic und meldet sich auf einem anderen:',
  ],
  desired: ['The device subscribes to', 'Das Gerät abonniert'],
  reported: ['The device publishes', 'Das Gerät veröffentlicht'],
})

/** What a shadow is for, with something to copy. */
export function ShadowEmpty({ deviceId }: { readonly deviceId: string }) {
  return (
    <Empty title={t('title')}>
      <p>{t('how')}</p>
      <CopyField label={t('desired')} text={`fleet/${deviceId}/shadow/desired`} />
      <CopyField
        label={t('reported')}
        text={`fleet/${deviceId}/shadow/reported  {"report_interval_sec":5}`}
      />
    </Empty>
  )
}
