import { AbstractAgent } from "@ag-ui/client";
import { Observable } from "rxjs";

export class WebSocketAgent extends AbstractAgent {
  constructor({ url, apiKey, ...config }) {
    super(config);
    this.connect = () => new WebSocket(url, ["agui.v1", `bearer.${apiKey}`]);
  }

  run(input) {
    return new Observable((observer) => {
      const socket = this.connect();
      socket.onopen = () => socket.send(JSON.stringify(input));
      socket.onerror = () => observer.error(new Error("The connection failed."));
      socket.onclose = () => observer.complete();
      socket.onmessage = ({ data }) => {
        const event = JSON.parse(data);
        observer.next(event);
        if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") socket.close();
      };
      return () => socket.close();
    });
  }
}
