// Images of firmware: upload one, see what is there, take one out of use.
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { AreaTabs } from '../../parts/area-tabs.tsx'
import { byteCount } from '../../parts/byte-count.ts'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { stateWord } from '../../parts/state-words.ts'
import { words } from '../../words/words.ts'
import { UploadForm } from './upload-form.tsx'

const t = words({
  title: ['Firmware images', 'Firmware-Abbilder'],
  size: ['Size', 'Größe'],
  at: ['Uploaded', 'Hochgeladen'],
  usedText: ['{active} active of {total}', '{active} von {total} laufen'],
  deploy: ['Deploy', 'Ausrollen'],
  yank: ['Yank', 'Zurückziehen'],
  yankText: [
    'No device gets {version} any more, and its rollouts stop. Devices that run it keep it.',
    'Kein Gerät erhält {version} mehr, und seine Rollouts halten an. Geräte, auf denen es läuft, behalten es.',
  ],
  removeText: [
    'The image of {version} is deleted for good.',
    'Das Abbild {version} wird gelöscht und ist nicht wiederzubekommen.',
  ],
  empty: ['No images yet', 'Es gibt noch kein Abbild'],
  emptyMore: [
    'Choose a file above; the service computes its checksum and shows it here.',
    'Wählen Sie oben eine Datei: ihre Prüfsumme berechnet der Dienst und sie steht dann hier.',
  ],
  emptyRead: ['An admin uploads images.', 'Ein Admin lädt Abbilder hoch.'],
})

type Image = ReplyOf<Operations['listFirmware']>['data'][number]

export default function Firmware() {
  const answer = useAnswer('listFirmware', { query: { page: pageValue.value } })
  const isAdmin = may('uploadFirmware')
  const columns: readonly Column<Image>[] = [
    { name: t('version'), cell: ({ version }) => plainText(version) },
    { name: t('deviceType'), cell: ({ device_type }) => device_type },
    { name: t('size'), isNumber: true, cell: ({ size_bytes }) => byteCount(size_bytes) },
    { name: t('sha256'), cell: ({ sha256 }) => <code title={sha256}>{sha256.slice(0, 12)}…</code> },
    {
      name: t('status'),
      cell: ({ status, storage }) =>
        storage === 'missing' ? `${stateWord(status)}, ${stateWord(storage)}` : stateWord(status),
    },
    {
      name: t('rollouts'),
      isNumber: true,
      cell: ({ deployments }) => t('usedText', { ...deployments }),
    },
    { name: t('at'), cell: ({ created_at }) => <Age at={created_at} /> },
    {
      name: t('actions'),
      cell: (image) => (
        <span class="row">
          {may('createDeployment') && image.status === 'available' && (
            <a class="button" href={pathOf('newRollout', {}, { firmware: image.firmware_id })}>
              {t('deploy')}
            </a>
          )}
          {isAdmin && image.status !== 'yanked' && (
            <ConfirmButton
              action={t('yank')}
              onConfirm={async () => {
                await fleet.editFirmware({ firmware_id: image.firmware_id, body: { status: 'yanked' } })
                refreshAnswers('listFirmware')
              }}
            >
              <p>{t('yankText', { version: image.version })}</p>
            </ConfirmButton>
          )}
          {isAdmin && (
            <ConfirmButton
              icon="trash-2"
              label={t('delete')}
              action={t('delete')}
              typed={image.version}
              onConfirm={async () => {
                await fleet.deleteFirmware({ firmware_id: image.firmware_id })
                refreshAnswers('listFirmware')
              }}
            >
              <p>{t('removeText', { version: image.version })}</p>
            </ConfirmButton>
          )}
        </span>
      ),
    },
  ]
  return (
    <Page title={t('title')} needs="listFirmware">
      <AreaTabs of="rollouts" />
      {isAdmin && <UploadForm />}
      <AnswerTable
        answer={answer}
        empty={<Empty title={t('empty')} hint={isAdmin ? t('emptyMore') : t('emptyRead')} />}
        caption={t('title')}
        columns={columns}
        idOf={({ firmware_id }) => firmware_id}
      />
    </Page>
  )
}
