// `npm start`: starts the service after the set-up that is still missing. Arguments are passed on.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'

await runBuilt('dist/api/service/main.js')
