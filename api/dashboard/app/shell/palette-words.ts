import { words } from '../words/words.ts'

export const t = words({
  label: ['Go to a view or a device', 'Zu einer Ansicht oder einem Gerät'],
  placeholder: [
    'Device, view, filter such as status:error, or robot-7 blink times=3',
    'Gerät, Ansicht, Filter wie status:error, oder robot-7 blink times=3',
  ],
  results: ['Results', 'Ergebnisse'],
  none: ['No results.', 'Nichts heißt so.'],
  filter: ['Show devices that match "{text}"', 'Geräte zeigen, auf die „{text}“ passt'],
  send: ['Send {command} to {name}…', '{command} an {name} senden …'],
  noParameters: ['without parameters', 'ohne Parameter'],
  connect: ['Connect a device', 'Gerät verbinden'],
  compose: ['Send a command', 'Befehl senden'],
  me: ['Profile and settings', 'Profil und Einstellungen'],
})
