import { AbstractAgent } from "@ag-ui/client";
import { takeWhile } from "rxjs";
import { webSocket } from "rxjs/webSocket";

export class WebSocketAgent extends AbstractAgent {
  constructor({ url, apiKey, ...config }) {
    super(config);
    this.door = { url, protocol: ["agui.v1", `bearer.${apiKey}`] };
  }

  run(input) {
    const socket = webSocket(this.door);
    socket.next(input);
    return socket.pipe(takeWhile(({ type }) => type !== "RUN_FINISHED" && type !== "RUN_ERROR", true));
  }
}
