import com.google.gson.Gson;
import com.portcullis.client.Client;
import com.portcullis.client.Guard;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import org.eclipse.jetty.ee10.servlet.FilterHolder;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.context.support.GenericWebApplicationContext;
import org.springframework.web.servlet.DispatcherServlet;
import org.springframework.web.servlet.mvc.method.RequestMappingInfo;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerAdapter;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;

/**
 * Tomcat, Jetty and Spring behind the guard by routes. Each handler says which route it is for, and which API the
 * guard found.
 */
public final class Routers {
  private record Route(String path, List<String> methods, String api) {
    @Override
    public List<String> methods() {
      return methods == null ? List.of() : methods;
    }
  }

  /** The handler of a route. */
  @SuppressWarnings("serial")
  public static final class Handler extends HttpServlet {
    private final transient Route route;

    Handler(Route route) {
      this.route = route;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) {
      if (!route.methods().isEmpty() && !route.methods().contains(request.getMethod())) {
        response.setStatus(405);
        return;
      }
      handle(request, response);
    }

    public void handle(HttpServletRequest request, HttpServletResponse response) {
      response.setHeader("X-Handler", route.api);
      response.setHeader(
          "X-Found", Guard.answerOf(request).flatMap(answer -> answer.route()).map(found -> found.api()).orElse(""));
    }
  }

  public static void main(String[] args) throws Exception {
    var table = List.of(new Gson().fromJson(System.getenv("ROUTERS_TABLE"), Route[].class));
    var builder = Client.builder().address(System.getenv("ROUTERS_SIDECAR"));
    try (var client = builder.callerToken(System.getenv("ROUTERS_CALLER_TOKEN")).local().connect()) {
      var servers = new ArrayList<Tomcat>();
      if (table.stream().noneMatch(route -> route.path.contains("{"))) {
        servers.add(serve("Tomcat", client, context -> servlets(context, table)));
        jetty(client, table);
      }
      servers.add(serve("Spring", client, context -> spring(context, table)));
      while (System.in.read() >= 0) {
        continue;
      }
      for (var each : servers) {
        each.stop();
      }
    }
  }

  private interface Fill {
    void fill(Context context) throws NoSuchMethodException;
  }

  private static Tomcat serve(String name, Client client, Fill fill) throws Exception {
    var tomcat = new Tomcat();
    var folder = Files.createTempDirectory("routers");
    folder.toFile().deleteOnExit();
    tomcat.setBaseDir(folder.toString());
    tomcat.setHostname("127.0.0.1");
    tomcat.setPort(0);
    tomcat.getConnector().setProperty("address", "127.0.0.1");
    var context = tomcat.addContext("", folder.toString());
    var filter = new FilterDef();
    filter.setFilterName("guard");
    filter.setFilter(Guard.routes(client));
    context.addFilterDef(filter);
    var everything = new FilterMap();
    everything.setFilterName("guard");
    everything.addURLPattern("/*");
    context.addFilterMap(everything);
    fill.fill(context);
    tomcat.start();
    System.out.println(name + " http://127.0.0.1:" + tomcat.getConnector().getLocalPort());
    return tomcat;
  }

  private static void jetty(Client client, List<Route> table) throws Exception {
    var server = new Server(new InetSocketAddress("127.0.0.1", 0));
    var context = new ServletContextHandler();
    context.addFilter(new FilterHolder(Guard.routes(client)), "/*", EnumSet.of(DispatcherType.REQUEST));
    for (var route : table) {
      context.addServlet(new ServletHolder(route.api, new Handler(route)), patternOf(route));
    }
    server.setHandler(context);
    server.start();
    // It ends with the program.
    server.setStopAtShutdown(true);
    System.out.println("Jetty " + server.getURI().toString().replaceAll("/$", ""));
  }

  /** A path that ends with a slash is a prefix: `/billing/*`, which is for `/billing` as well. */
  private static void servlets(Context context, List<Route> table) {
    for (var route : table) {
      Tomcat.addServlet(context, route.api, new Handler(route));
      context.addServletMappingDecoded(patternOf(route), route.api);
    }
  }

  private static String patternOf(Route route) {
    return route.path.equals("/") ? "/" : route.path + (route.path.endsWith("/") ? "*" : "");
  }

  private static void spring(Context context, List<Route> table) throws NoSuchMethodException {
    var beans = new GenericWebApplicationContext();
    beans.registerBean(RequestMappingHandlerMapping.class);
    beans.registerBean(RequestMappingHandlerAdapter.class);
    beans.addApplicationListener(
        event -> {
          if (event instanceof org.springframework.context.event.ContextRefreshedEvent) {
            register(beans.getBean(RequestMappingHandlerMapping.class), table);
          }
        });
    var servlet = Tomcat.addServlet(context, "spring", new DispatcherServlet(beans));
    servlet.setLoadOnStartup(1);
    context.addServletMappingDecoded("/", "spring");
  }

  private static void register(RequestMappingHandlerMapping mapping, List<Route> table) {
    for (var route : table) {
      var paths =
          route.path.endsWith("/")
              ? new String[] {route.path, route.path + "**"}
              : new String[] {route.path};
      var methods = route.methods().stream().map(RequestMethod::valueOf).toArray(RequestMethod[]::new);
      try {
        var handle =
            Handler.class.getMethod("handle", HttpServletRequest.class, HttpServletResponse.class);
        mapping.registerMapping(
            RequestMappingInfo.paths(paths).methods(methods).options(mapping.getBuilderConfiguration()).build(),
            new Handler(route),
            handle);
      } catch (NoSuchMethodException error) {
        throw new IllegalStateException(error);
      }
    }
  }
}
